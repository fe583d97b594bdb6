import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chartledger_client import ChartledgerError, verify_webhook


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            message = verify_webhook(secret=os.environ["WEBHOOK_SECRET"], headers=self.headers, body=body)
        except ChartledgerError:
            self.send_response(400)
        else:
            print(self.headers["webhook-id"], message["type"], flush=True)
            self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
