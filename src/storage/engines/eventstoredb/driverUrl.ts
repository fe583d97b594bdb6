/** Seconds that a node may take to name the leader; the driver's default of 5 is longer than an election. */
const GOSSIP_TIMEOUT_S = 2;
const DEFAULT_PORT = 2113;

const CONNECTION_STRING = /^(esdb|kurrentdb)(\+discover)?:\/\/((?:[^:]+:[^@]+@)?)([^?]*?)\/*(\?.*)?$/;

/**
 * Returns the driver's connection string for an event log's URL. For a list of hosts with `+discover` the driver would use only
 * the first: such a list is treated as nodes, as without it. If it is not a connection string, the driver refuses it.
 */
export function driverUrl(url: string): string {
  const parts = CONNECTION_STRING.exec(url.trim());
  if (parts === null) return url;
  const [, name = '', discover = '', credentials = '', hosts = '', query = ''] = parts;
  const scheme = hosts.includes(',') ? name : `${name}${discover}`;
  // The deadline is for all tries of a call, which the driver does not know.
  const options = query
    .split(/[?&]/)
    .filter((option) => option !== '' && !isNamed(option, 'defaultDeadline'));
  if (optionOf(url, 'gossipTimeout') === undefined) options.push(`gossipTimeout=${GOSSIP_TIMEOUT_S}`);
  return `${scheme}://${credentials}${hosts}?${options.join('&')}`;
}

/** Returns the driver's connection string for one node, `host:port`, of the cluster named by an event log's URL. */
export function nodeUrl(url: string, node: string): string {
  const [, name = '', , credentials = '', , query = ''] = CONNECTION_STRING.exec(url.trim()) ?? [];
  return driverUrl(`${name}://${credentials}${node}${query}`);
}

/** Returns the hosts in a URL, as `host:port`. */
export function hostsOf(url: string): string[] {
  const hosts = CONNECTION_STRING.exec(url.trim())?.[4]?.split(',') ?? [];
  return hosts.map((host) => (host.includes(':') ? host : `${host}:${DEFAULT_PORT}`));
}

/** Returns an option of a URL; the driver reads option names in any case and with `_` or `-` in them. */
export function optionOf(url: string, name: string): string | undefined {
  const query = new URLSearchParams(CONNECTION_STRING.exec(url.trim())?.[5]);
  return [...query].find(([key]) => isNamed(key, name))?.[1];
}

/** Whether an option, with or without a value, has this name. */
function isNamed(option: string, name: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  return plain(option.replace(/=.*/, '')) === plain(name);
}
