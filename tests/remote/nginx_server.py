"""A real web server with TLS on loopback: nginx, run as the current user, with all files in one folder."""
import ctypes
import os
import re
import signal
import socket
import subprocess
import time

# A single process, so that root needs no second user. Compression is on, as on servers that compress by default.
CONFIGURATION = """
daemon off; master_process off; pid {work}/pid; error_log {work}/error.log;
events {{}}
http {{
  log_format asked '$status|$body_bytes_sent|$connection|$server_protocol|$http_range|$http_if_range|$request_uri';
  access_log {work}/access.log asked;
  client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
  uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
  sendfile on; gzip on; gzip_types *; gzip_min_length 1;
  default_type application/octet-stream;
  server {{
    listen 127.0.0.1:{port} ssl{http2};
    ssl_certificate {certificates}/{name}.pem; ssl_certificate_key {certificates}/{name}.key;
    root {files};
    location /no-ranges/ {{ alias {files}/; max_ranges 0; }}
    location /slow/ {{ alias {files}/; limit_rate 4m; }}
    location /to-http/ {{ return 302 http://127.0.0.1:{port}$request_uri; }}
    location /to-here/ {{ rewrite ^/to-here(/.*)$ https://127.0.0.1:{port}$1 redirect; }}
    location /for-some/ {{ return 403; }}
  }}
}}
"""


def certificates(folder):
    """A certificate authority (ca.pem), with certificates for this machine (here) and another (elsewhere)."""
    def openssl(*arguments):
        subprocess.run(("openssl",) + arguments, check=True, capture_output=True, cwd=folder)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=an authority", "-keyout", "ca.key", "-out", "ca.pem")
    for name, names in (("here", "DNS:localhost,IP:127.0.0.1"), ("elsewhere", "DNS:elsewhere.example")):
        with open(os.path.join(folder, name + ".ext"), "w") as file:
            file.write("subjectAltName=%s\n" % names)
        openssl("req", *new_key, "-subj", "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
        openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", name + ".ext", "-out", name + ".pem")


class Request:
    def __init__(self, line):
        status, sent, self.connection, self.protocol, self.range, self.if_range, self.path = line.split("|", 6)
        self.status, self.sent = int(status), int(sent)


def end_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Nginx:
    """Serves `files`. `folder` has the certificates and receives all that nginx writes, in a folder of its own."""

    def __init__(self, folder, files, certificate="here", http2=False):
        self.work = os.path.join(folder, "nginx-%d" % len(os.listdir(folder)))
        os.mkdir(self.work)
        for _ in range(20):  # a port may be taken between our check and nginx's start
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            self.address = "https://127.0.0.1:%d" % port
            configuration = os.path.join(self.work, "nginx.conf")
            with open(configuration, "w") as file:
                file.write(CONFIGURATION.format(work=self.work, files=files, port=port, certificates=folder,
                                                name=certificate, http2=" http2" if http2 else ""))
            self.process = subprocess.Popen(["nginx", "-e", os.path.join(self.work, "error.log"), "-c", configuration],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=end_with_parent)
            if self.listens():
                return
        raise RuntimeError("nginx does not start: " + open(os.path.join(self.work, "error.log")).read())

    def listens(self):
        """Waits for nginx's pid file, written once it has the port. An answer on the port alone could be another
        server's."""
        number = os.path.join(self.work, "pid")
        for _ in range(500):
            if self.process.poll() is not None:
                return False
            if os.path.exists(number) and os.path.getsize(number) > 0:
                return True
            time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        return False

    def log(self):
        with open(os.path.join(self.work, "access.log")) as file:
            return [Request(line.rstrip("\n")) for line in file if re.match(r"[1-5]\d\d\|", line)]

    def wait_for_request(self):
        for _ in range(30_000):
            if self.log():
                return
            time.sleep(0.002)

    def close(self):
        """Ends nginx after its connections have ended. Returns the requests, whose log lines are written after the
        answers."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.log()
