/** A message of a stream of server-sent events. One without data says only how far the stream has come. */
export interface ServerSentEvent {
  id: string | undefined;
  data: string | undefined;
}

/**
 * The messages of a stream of server-sent events (WHATWG HTML, section 9.2), as this service writes them. Rejects when nothing
 * comes for `silenceSeconds`, comments included, and as the stream does.
 */
export async function* readServerSentEvents(
  stream: ReadableStream<Uint8Array>,
  silenceSeconds: number,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await unlessSilent(reader.read(), silenceSeconds);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const messages = text.split('\n\n');
      text = messages.pop() as string;
      for (const message of messages) yield parse(message);
    }
  } finally {
    // Without waiting: a dead connection may not answer to that either.
    reader.cancel().catch(() => undefined);
  }
}

function parse(message: string): ServerSentEvent {
  const fields = new Map<string, string>();
  for (const line of message.split('\n')) {
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
