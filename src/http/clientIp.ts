import type { IncomingMessage } from 'node:http';
import proxyAddr from 'proxy-addr';

/** How to tell a client's IP address: `TRUST_PROXY` hops, or addresses and networks, are believed. */
export function clientIpReader(trustProxy: string): (req: IncomingMessage) => string {
  const hops = /^\d+$/.test(trustProxy) ? Number(trustProxy) : undefined;
  const trust =
    hops === undefined
      ? proxyAddr.compile(trustProxy.split(',').map((part) => part.trim()))
      : (_address: string, hop: number) => hop < hops;
  return (req) => {
    const address = hops === 0 ? (req.socket.remoteAddress ?? '') : proxyAddr(req, trust);
    return address.startsWith('::ffff:') ? address.slice(7) : address;
  };
}
