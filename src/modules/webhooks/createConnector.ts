import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from './addressRules.ts';
import type { ResolveName } from './resolveName.ts';

/** The connection would have gone to an address to which messages may not be sent. */
export class RefusedAddress extends Error {
  constructor() {
    super('the address is not an allowed destination');
    this.name = 'RefusedAddress';
  }
}

/** The endpoint's name has no address. */
export class NameNotResolved extends Error {
  constructor() {
    super('the host name has no address');
    this.name = 'NameNotResolved';
  }
}

/** The endpoint was reached, but no trusted TLS connection could be established. */
export class TlsFailed extends Error {
  constructor(cause: Error) {
    super('no trusted TLS connection could be established', { cause });
    this.name = 'TlsFailed';
  }
}

export interface ConnectorOptions {
  addresses: AddressRules;
  resolve: ResolveName;
  timeoutMs: number;
}

/**
 * Looks a name up once, and hands on its addresses only when all of them are allowed: no other address is connected
 * to.
 */
function checkedLookup({ addresses, resolve }: ConnectorOptions, protocol: string): LookupFunction {
  const checked = async (hostname: string) => {
    const found = await resolve(hostname).catch(() => []);
    if (found.length === 0) throw new NameNotResolved();
    if (!found.every((address) => addresses.allows(address, protocol))) throw new RefusedAddress();
    return found.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, _options, callback) => {
    checked(hostname).then(
      (found) => callback(null, found),
      (error) => callback(error, []),
    );
  };
}

/** Socket errors name a system call; certificate and handshake errors do not. */
function isTlsError(error: NodeJS.ErrnoException): boolean {
  if (error instanceof RefusedAddress || error instanceof NameNotResolved) return false;
  if (error instanceof AggregateError || error.code?.startsWith('UND_ERR_')) return false;
  return error.syscall === undefined || error.code === 'EPROTO';
}

/**
 * Returns a connector that connects a client only to allowed addresses: a literal address is checked beforehand, the
 * addresses of a name between look-up and connection, and the connected address once more. Fails with
 * `RefusedAddress`, `NameNotResolved`, `TlsFailed`, or as the socket does.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { addresses, timeoutMs } = options;
  const connectorFor = (protocol: string) =>
    buildConnector({
      timeout: timeoutMs,
      rejectUnauthorized: true,
      // Resolves all addresses at once, and moves on to the next when one does not respond (RFC 8305).
      autoSelectFamily: true,
      lookup: checkedLookup(options, protocol),
    });
  const [https, http] = [connectorFor('https:'), connectorFor('http:')];
  return (target, callback) => {
    const { hostname, protocol } = target;
    if (isIP(hostname) !== 0 && !addresses.allows(hostname, protocol)) {
      queueMicrotask(() => callback(new RefusedAddress(), null));
      return;
    }
    const secure = protocol === 'https:';
    const connect = secure ? https : http;
    connect(target, (error, socket) => {
      if (error !== null) {
        callback(secure && isTlsError(error) ? new TlsFailed(error) : error, null);
      } else if (addresses.allows(socket.remoteAddress ?? '', protocol)) {
        callback(null, socket);
      } else {
        socket.destroy();
        callback(new RefusedAddress(), null);
      }
    });
  };
}
