import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Where messages may be sent. */
export interface AddressRules {
  /**
   * Whether an IP address may be connected to: over `https:` any public one, and over both protocols those of the
   * networks that were opened. False for anything that is not an IP address.
   */
  allows(address: string, protocol: string): boolean;
  /** Whether any network was opened, and with it `http:`. */
  readonly opensNetworks: boolean;
}

type Address = ReturnType<typeof ipaddr.parse>;
type Network = ReturnType<typeof ipaddr.parseCIDR>;

/**
 * Everything allocated for public use (RFC 4291, section 2.4); what lies outside embeds or stands for other
 * addresses.
 */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** A cloud's services for its own machines at addresses that look public: Azure's WireServer. */
const metadataServers = new Set(['168.63.129.16']);

function inNetwork(address: Address, [network, bits]: Network): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function isPublic(address: Address): boolean {
  if (metadataServers.has(address.toString()) || address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || inNetwork(address, globalUnicast);
}

/** Returns the rules with some networks opened, each in CIDR notation. Throws when one is invalid. */
export function createAddressRules(openNetworks: readonly string[]): AddressRules {
  const networks = openNetworks.map((network) => ipaddr.parseCIDR(network));
  return {
    opensNetworks: networks.length > 0,
    allows(text, protocol) {
      if (isIP(text) === 0) return false;
      // An IPv4 address mapped into IPv6 is treated as the IPv4 address.
      const address = ipaddr.process(text);
      if (networks.some((network) => inNetwork(address, network))) return true;
      return protocol === 'https:' && isPublic(address);
    },
  };
}
