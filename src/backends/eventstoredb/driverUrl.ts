/** Seconds that a node may take to say who leads; the driver's default of 5 outlasts an election. */
const GOSSIP_TIMEOUT = 2;

const CONNECTION_STRING = /^esdb(\+discover)?:\/\/((?:[^:]+:[^@]+@)?)([^?]*?)\/*(\?.*)?$/;

/**
 * The driver's connection string of an event log's URL. Of a list of hosts with `+discover` the driver would use the
 * first alone: such a list is one of nodes, as without. What is not a connection string is left to the driver to refuse.
 */
export function driverUrl(url: string): string {
  const parts = CONNECTION_STRING.exec(url.trim());
  if (parts === null) return url;
  const [, discover = '', credentials = '', hosts = '', query = ''] = parts;
  const scheme = hosts.includes(',') ? 'esdb' : `esdb${discover}`;
  const options = /[?&]gossip[_-]?timeout=/i.test(query)
    ? query
    : withOption(query, 'gossipTimeout', GOSSIP_TIMEOUT);
  return `${scheme}://${credentials}${hosts}${options}`;
}

/** The nodes that a URL names, as `host:port`. */
export function hostsOf(url: string): string {
  return CONNECTION_STRING.exec(url.trim())?.[3] ?? '';
}

function withOption(query: string, name: string, value: number): string {
  return `${query}${query === '' ? '?' : '&'}${name}=${value}`;
}
