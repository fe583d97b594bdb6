import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { NoSender } from './Senders.ts';

/** Why a connection is closed before anything is read from it. */
export type PeerRefusal = NoSender | 'not_trusted' | 'no_tls' | 'too_many';

const texts: Record<PeerRefusal, string> = {
  no_source: 'a connection of MLLP is of no source: bind one to its network or certificate',
  several_sources: 'several sources claim a connection of MLLP, so that none has it: tell them apart',
  several_workspaces:
    'no source is bound to connections of MLLP, and not one workspace alone is active: bind a source',
  not_trusted: 'a client certificate is not trusted: see MLLP_TLS_CA, and whether it has expired',
  no_tls: 'a connection of MLLP does not come to terms about TLS',
  too_many: 'as many connections of MLLP are open as there may be: see MLLP_CONNECTIONS',
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
