import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const compiled = new WeakMap<readonly string[], BlockList>();

/**
 * Returns a network in CIDR notation as it is stored: with the host bits cleared, and an IPv4-mapped IPv6 network as IPv4. A bare
 * address is a network of its own. Undefined if the text is not a network.
 */
export function canonicalNetwork(text: string): string | undefined {
  const [, address = '', bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  // For IPv4, ipaddr.js accepts forms whose authors meant something else, such as 10.1/16.
  const family = isIP(address);
  const most = family === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (family === 0 || length > most) return undefined;
  if (family === 4) return `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${length}`)}/${length}`;
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address}/${length}`);
  if (length >= 96 && network.isIPv4MappedAddress()) return `${network.toIPv4Address()}/${length - 96}`;
  return `${network.toRFC5952String()}/${length}`;
}

/** Whether an IP address is in one of the networks, which come from `canonicalNetwork`; false for what is not an address. */
export function isInNetworks(networks: readonly string[], address: string): boolean {
  const [plain = ''] = address.split('%');
  const family = isIP(plain);
  if (family === 0) return false;
  let list = compiled.get(networks);
  if (list === undefined) {
    list = listOf(networks);
    compiled.set(networks, list);
  }
  return list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
