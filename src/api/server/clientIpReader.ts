import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';

/**
 * Returns whether a proxy is trusted, by its address and its number counted from here: by `TRUST_PROXY` hops, or
 * addresses and networks.
 */
export function proxyTrust(trustProxy: string): (address: string, hop: number) => boolean {
  if (!isHops(trustProxy)) return proxyAddr.compile(trustProxy.split(',').map((part) => part.trim()));
  const hops = Number(trustProxy);
  return (_address, hop) => hop < hops;
}

function isHops(trustProxy: string): boolean {
  return /^\d+$/.test(trustProxy);
}

/** Returns a function that determines a client's IP address behind trusted proxies. */
export function clientIpReader(trustProxy: string): (req: IncomingMessage) => string {
  const trust = proxyTrust(trustProxy);
  const isDirect = isHops(trustProxy) && Number(trustProxy) === 0;
  return (req) => {
    const address = isDirect ? (req.socket.remoteAddress ?? '') : forwardedAddress(req, trust);
    return plainAddress(address);
  };
}

/** Returns an IPv4 address in its plain form, also where the system reports it mapped into IPv6. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/**
 * Returns the client's address as reported by trusted proxies; where they pass on an invalid one, that of the last
 * proxy that reported one.
 */
function forwardedAddress(req: IncomingMessage, trust: ReturnType<typeof proxyTrust>): string {
  const told = proxyAddr.all(req, trust);
  return told.findLast((address) => isIP(address) !== 0 && !address.includes('%')) ?? '';
}
