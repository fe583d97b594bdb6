import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from '../settings/addressRules.ts';
import type { ResolveName } from './resolveName.ts';

/** The connection would have gone to an address that messages may not go to. */
export class RefusedAddress extends Error {
  constructor() {
    super('the address is not an allowed destination');
    this.name = 'RefusedAddress';
  }
}

/** The name of the endpoint has no address. */
export class NameNotResolved extends Error {
  constructor() {
    super('the host name has no address');
    this.name = 'NameNotResolved';
  }
}

/** The endpoint was reached, but no TLS connection came about that could be trusted. */
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

/** Looks a name up once, and hands on its addresses only when all of them are allowed: no other is connected to. */
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

/** Errors of sockets name a system call; those of certificates and handshakes do not. */
function isTlsError(error: NodeJS.ErrnoException): boolean {
  if (error instanceof RefusedAddress || error instanceof NameNotResolved) return false;
  if (error instanceof AggregateError || error.code?.startsWith('UND_ERR_')) return false;
  return error.syscall === undefined || error.code === 'EPROTO';
}

/**
 * Makes the connections of a client to allowed addresses alone: a literal address is checked before, the addresses of a
 * name between look-up and connection, and whatever was connected to once more. Fails with `RefusedAddress`,
 * `NameNotResolved`, `TlsFailed`, or as the socket does.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { addresses, timeoutMs } = options;
  const connectorFor = (protocol: string) =>
    buildConnector({
      timeout: timeoutMs,
      rejectUnauthorized: true,
      // Asks for all addresses at once, and goes on to the next when one does not answer (RFC 8305).
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
