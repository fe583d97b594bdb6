import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { NoSender } from './Senders.ts';

/** Why a connection is closed before anything is read from it. */
export type PeerRefusal = NoSender | 'not_trusted' | 'no_tls' | 'not_identified' | 'too_many';

const texts: Record<PeerRefusal, string> = {
  no_source: 'an MLLP connection matches no source: bind one to its network or certificate',
  several_sources: 'several sources match an MLLP connection, so none gets it: make them distinct',
  several_workspaces:
    'no source is bound to MLLP connections, and there is not exactly one active workspace: bind a source',
  not_trusted: 'a client certificate is not trusted: see MLLP_TLS_CA, and whether it has expired',
  no_tls: 'an MLLP connection could not negotiate TLS',
  not_identified: 'the sender of an MLLP connection was not identified in time: it made no TLS handshake',
  too_many:
    'the maximum number of MLLP connections is open, or the share of one address, source or workspace: see MLLP_CONNECTIONS',
};

const TELL_EVERY_MS = 60_000;
const REMEMBERED = 1_000;

/** Reports closed connections to operators: once a minute per address and reason, as senders keep coming back. */
export class RefusedPeers {
  readonly #logger: Logger;
  readonly #told = new LRUCache<string, true>({ max: REMEMBERED, ttl: TELL_EVERY_MS });

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(reason: PeerRefusal, address: string, port: number): void {
    const what = `${reason} ${address} ${port}`;
    if (this.#told.has(what)) return;
    this.#told.set(what, true);
    this.#logger.warn({ reason, address, port }, texts[reason]);
  }
}
