import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const server = createServer(async (req, res) => {
  try {
    const event = webhook.verify(await text(req), req.headers);
    process.stdout.write(`${req.headers['webhook-id']} ${event.type} ${event.sequence}\n`);
    res.writeHead(204).end();
  } catch {
    res.writeHead(400).end();
  }
});
server.listen(process.env.PORT ?? 4000);
