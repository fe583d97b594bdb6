import { isIP } from 'node:net';
import type { AddressRules } from './addressRules.ts';

export const MAX_URL_LENGTH = 2_048;

const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

/** Returns the host of a parsed URL as resolvers and sockets take it: an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** Whether a name refers to the machine itself, whatever a name server says (RFC 6761, section 6.3). */
export function isLocalName(hostname: string): boolean {
  return LOCAL_NAME.test(hostname);
}

/**
 * Returns what is wrong with the URL of a webhook, addressed to its owner; undefined when nothing is known to be.
 * Names are not looked up here: their addresses are checked for every connection that is made.
 */
export function checkUrl(text: string, addresses: AddressRules): string | undefined {
  if (text.length > MAX_URL_LENGTH) return `must have at most ${MAX_URL_LENGTH} characters`;
  // The parser would silently drop some of these.
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces or control characters';
  const url = URL.parse(text);
  if (url === null) return 'must be a complete URL, for example https://example.com/webhooks';
  const { protocol } = url;
  if (protocol !== 'https:' && !(protocol === 'http:' && addresses.opensNetworks)) {
    return 'must begin with https://';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.hash !== '') return 'must not contain a fragment (#)';
  return checkHost(url, addresses);
}

function checkHost(url: URL, addresses: AddressRules): string | undefined {
  const host = isLocalName(url.hostname) ? '127.0.0.1' : hostOf(url);
  if (isIP(host) === 0 || addresses.allows(host, url.protocol)) return undefined;
  return addresses.allows(host, 'https:')
    ? 'must begin with https://'
    : 'must not name a private, local or reserved address';
}
