/** A frame of a stream of server-sent events: an event, or a place without one. */
export interface ServerSentEvent {
  id: string | undefined;
  data: string | undefined;
}

/**
 * Yields the frames of a stream of server-sent events (WHATWG HTML, section 9.2), each with at most one line of data; comments
 * are omitted.
 */
export async function* serverSentEvents(texts: AsyncIterable<string>): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  for await (const text of texts) {
    const blocks = (rest + text).split(/\r?\n\r?\n/);
    rest = blocks.pop() as string;
    for (const block of blocks) yield frameOf(block);
  }
}

function frameOf(block: string): ServerSentEvent {
  const frame: ServerSentEvent = { id: undefined, data: undefined };
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id' || field === 'data') frame[field] = value;
  }
  return frame;
}
