"""The architectures whose cases tests/encoders/decoders checks; tests/encoders/models checks the others."""

DECODERS = {"arcee", "baichuan", "bailingmoe3", "bloom", "chatglm", "cohere2moe", "deepseek4", "falcon", "hy_v3",
            "kimi-k3", "minimax-m3", "mpt", "nanbeige", "orion", "qwen4exp"}
