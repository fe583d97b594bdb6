import { orAborted } from './pause.ts';

/** A comment with the position of a stream on which nothing was sent for a while. */
const POSITION = /^: position (\d+)$/;

/** A message of a stream of server-sent events, or, without data, the position that the stream has reached. */
export interface ServerSentEvent {
  id: string | undefined;
  data: string | undefined;
}

/**
 * The messages of a stream of server-sent events (WHATWG HTML, section 9.2), as this service writes them. Rejects when nothing
 * comes for `silenceSeconds`, comments included, with the signal's reason when it is aborted, and as the stream does.
 */
export async function* readServerSentEvents(
  stream: ReadableStream<Uint8Array>,
  silenceSeconds: number,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const message: string[] = [];
  for await (const line of readParts(stream, '\n', silenceSeconds, signal)) {
    const [, position] = POSITION.exec(line) ?? [];
    if (position !== undefined) yield { id: position, data: undefined };
    else if (line === '') yield parse(message.splice(0));
    else if (!line.startsWith(':')) message.push(line);
  }
}

/** The parts of a text that each end with `end`; what follows the last one is not given. Rejects as `readServerSentEvents` does. */
export async function* readParts(
  stream: ReadableStream<Uint8Array>,
  end: string,
  silenceSeconds: number,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await orAborted(unlessSilent(reader.read(), silenceSeconds), signal);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const parts = text.split(end);
      text = parts.pop() as string;
      yield* parts;
    }
  } finally {
    // Without waiting: a dead connection may not answer to that either.
    reader.cancel().catch(() => undefined);
  }
}

function parse(message: readonly string[]): ServerSentEvent {
  const fields = new Map<string, string>();
  for (const line of message) {
    const [, name = '', value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    const before = fields.get(name);
    fields.set(name, name === 'data' && before !== undefined ? `${before}\n${value}` : value);
  }
  return { id: fields.get('id'), data: fields.get('data') };
}

function unlessSilent<Result>(reading: Promise<Result>, seconds: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the connection has fallen silent')), seconds * 1_000);
    reading.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
