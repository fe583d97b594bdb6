/** Seconds that a node may take to say who leads; the driver's default of 5 outlasts an election. */
const GOSSIP_TIMEOUT_S = 2;
const DEFAULT_PORT = 2113;

const CONNECTION_STRING = /^(esdb|kurrentdb)(\+discover)?:\/\/((?:[^:]+:[^@]+@)?)([^?]*?)\/*(\?.*)?$/;

/**
 * The driver's connection string of an event log's URL. Of a list of hosts with `+discover` the driver would use the
 * first alone: such a list is one of nodes, as without. What is not a connection string is left to the driver to refuse.
 */
export function driverUrl(url: string): string {
  const parts = CONNECTION_STRING.exec(url.trim());
  if (parts === null) return url;
  const [, name = '', discover = '', credentials = '', hosts = '', query = ''] = parts;
  const scheme = hosts.includes(',') ? name : `${name}${discover}`;
  const stated = `${scheme}://${credentials}${hosts}${query}`;
  if (optionOf(url, 'gossipTimeout') !== undefined) return stated;
  return `${stated}${query === '' ? '?' : '&'}gossipTimeout=${GOSSIP_TIMEOUT_S}`;
}

/** The driver's connection string of one node, `host:port`, of the cluster that an event log's URL names. */
export function nodeUrl(url: string, node: string): string {
  const [, name = '', , credentials = '', , query = ''] = CONNECTION_STRING.exec(url.trim()) ?? [];
  return driverUrl(`${name}://${credentials}${node}${query}`);
}

/** The hosts that a URL names, as `host:port`. */
export function hostsOf(url: string): string[] {
  const hosts = CONNECTION_STRING.exec(url.trim())?.[4]?.split(',') ?? [];
  return hosts.map((host) => (host.includes(':') ? host : `${host}:${DEFAULT_PORT}`));
}

/** An option of a URL, whose names the driver reads in any case and with `_` or `-` in them. */
export function optionOf(url: string, name: string): string | undefined {
  const query = new URLSearchParams(CONNECTION_STRING.exec(url.trim())?.[5]);
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  return [...query].find(([key]) => plain(key) === plain(name))?.[1];
}
