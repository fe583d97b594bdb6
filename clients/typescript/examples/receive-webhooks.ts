import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from 'chartledger-client';

const { WEBHOOK_SECRET: secret = '', PORT = '4000' } = process.env;
const server = createServer(async (req, res) => {
  try {
    const message = await verifyWebhook({ secret, headers: req.headers, body: await text(req) });
    process.stdout.write(`${req.headers['webhook-id']} ${message.type}\n`);
    res.writeHead(204).end();
  } catch {
    res.writeHead(400).end();
  }
});
server.listen(Number(PORT));
