import ipaddr from 'ipaddr.js';

/**
 * Returns what an IP address is counted under: for IPv6 the /64, which belongs to a single customer (RFC 6177);
 * for IPv4, and for what is not an address, the text itself.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') || !ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  const network = new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]);
  return `${network.toRFC5952String()}/64`;
}
