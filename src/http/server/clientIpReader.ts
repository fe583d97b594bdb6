import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';

/** Whether a proxy is believed, by its address and its number from here on: by `TRUST_PROXY` hops, or addresses and networks. */
export function proxyTrust(trustProxy: string): (address: string, hop: number) => boolean {
  if (!isHops(trustProxy)) return proxyAddr.compile(trustProxy.split(',').map((part) => part.trim()));
  const hops = Number(trustProxy);
  return (_address, hop) => hop < hops;
}

function isHops(trustProxy: string): boolean {
  return /^\d+$/.test(trustProxy);
}

/** How to tell a client's IP address behind trusted proxies. */
export function clientIpReader(trustProxy: string): (req: IncomingMessage) => string {
  const trust = proxyTrust(trustProxy);
  const isDirect = isHops(trustProxy) && Number(trustProxy) === 0;
  return (req) => {
    const address = isDirect ? (req.socket.remoteAddress ?? '') : forwardedAddress(req, trust);
    return plainAddress(address);
  };
}

/** An address of IPv4 as that, also where the system tells it in IPv6's clothes. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** The client's address as trusted proxies tell it; where they pass on what is none, that of the last proxy which told one. */
function forwardedAddress(req: IncomingMessage, trust: ReturnType<typeof proxyTrust>): string {
  const told = proxyAddr.all(req, trust);
  return told.findLast((address) => isIP(address) !== 0 && !address.includes('%')) ?? '';
}
