import type { ServerResponse } from 'node:http';
import { formatPosition } from '../../modules/eventStream/position.ts';
import type { Chunk } from '../../modules/eventStream/reader.ts';
import type { Subscription } from '../../modules/eventStream/subscription.ts';

/** Milliseconds after which a browser or client library reconnects. */
const RECONNECT_MS = 2_000;
/** How often a stream checks on itself. */
const POLL_MS = 500;

export interface EventStreamOptions {
  /** A line is sent at least this often, so that proxies and readers know that the stream is alive. */
  heartbeatMs: number;
  /** A reader that accepts nothing for this long is considered dead. */
  stalledMs: number;
  /** Whether the reader may continue; asked twice a second. */
  allowed(): boolean;
  /** Called with each chunk before it is sent, which waits for it; when it rejects, the stream ends. */
  sending(chunk: Chunk): Promise<void>;
}

/**
 * Sends a subscription as server-sent events (WHATWG HTML, section 9.2) for as long as the reader is there and
 * allowed, at the reader's pace: the next chunk is taken when the previous one has left. Rejects with `unavailable`.
 */
export async function sendEventStream(
  res: ServerResponse,
  subscription: Subscription,
  { heartbeatMs, stalledMs, allowed, sending }: EventStreamOptions,
): Promise<void> {
  const end = new AbortController();
  res.once('close', () => end.abort());
  let written = performance.now();
  let isHeld = false;
  let place = subscription.position ?? 0;
  const write = (bytes: Uint8Array | string) => {
    written = performance.now();
    return res.write(bytes);
  };
  const look = () => {
    const quiet = performance.now() - written;
    if (!allowed()) end.abort();
    else if (res.writableNeedDrain && quiet > stalledMs) res.destroy();
    else if (!res.writableNeedDrain && quiet > heartbeatMs) write(heartbeat());
  };
  /**
   * Returns a comment, which does not end a message: some libraries make an empty one of any blank line. Where the stream has moved
   * on, the comment is its position. It spares a reader that reconnects from going through what is not its own.
   */
  const heartbeat = () => {
    const position = isHeld ? 0 : (subscription.position ?? 0);
    if (position <= place) return ': heartbeat\n';
    place = position;
    return `: position ${formatPosition(position)}\n`;
  };
  const looking = setInterval(look, Math.min(POLL_MS, heartbeatMs));
  try {
    // It is part of the first message, and so does not make an empty one.
    write(`retry: ${RECONNECT_MS}\n`);
    for await (const chunk of subscription.chunks(end.signal)) {
      isHeld = true;
      await sending(chunk);
      isHeld = false;
      if (end.signal.aborted) break;
      place = chunk.position;
      if (!write(chunk.bytes)) await drained(res, end.signal);
      if (end.signal.aborted) break;
    }
  } finally {
    clearInterval(looking);
    end.abort();
  }
}

/** Resolves when what was written has left, or at the signal. */
export function drained(res: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    res.on('drain', done);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });
}
