import { type Agent, type IncomingMessage, request } from 'node:http';

/** Longer than any request may take: what takes longer hangs. */
const HANGS_MS = 60_000;

export interface Request {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** What came back: status 0 where nothing did. */
export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  bytes: Buffer;
  /** Whether the whole response arrived; otherwise the connection was broken. */
  isWhole: boolean;
  /** Whether nothing arrived for longer than a request may take. */
  hung: boolean;
  milliseconds: number;
}

/** Returns the JSON of a complete response. */
// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
export function bodyOf({ bytes }: Answer): any {
  return JSON.parse(bytes.toString());
}

/** Sends a request to the service at `url`; resolves with whatever came of it. */
export function send(
  url: string,
  agent: Agent | false,
  { method, path, headers, body }: Request,
): Promise<Answer> {
  const startedAt = performance.now();
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let answer: IncomingMessage | undefined;
    let hung = false;
    const end = (isWhole: boolean) => {
      const { statusCode: status = 0, headers: answered = {} } = answer ?? {};
      const milliseconds = performance.now() - startedAt;
      resolve({ status, headers: answered, bytes: Buffer.concat(chunks), isWhole, hung, milliseconds });
    };
    const outgoing = request({
      hostname,
      port,
      path,
      agent,
      headers: headers ?? {},
      method: method ?? 'GET',
    });
    outgoing.setTimeout(HANGS_MS, () => {
      hung = true;
      outgoing.destroy();
    });
    outgoing.on('response', (res) => {
      answer = res;
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('close', () => end(res.complete));
    });
    outgoing.on('error', () => {
      if (answer === undefined) end(false);
    });
    outgoing.end(body);
  });
}
