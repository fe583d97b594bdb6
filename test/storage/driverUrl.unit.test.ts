import { expect, test } from 'vitest';
import { driverUrl, hostsOf, optionOf } from '../../src/storage/engines/eventstoredb/client.ts';

test.each([
  ['esdb://a', 'esdb://a?gossipTimeout=2'],
  ['esdb+discover://esdb.example.com:2113', 'esdb+discover://esdb.example.com:2113?gossipTimeout=2'],
  ['esdb+discover://u:p@a,b:1,c/?tls=false', 'esdb://u:p@a,b:1,c?tls=false&gossipTimeout=2'],
  ['esdb://a,b?GOSSIP_TIMEOUT=7', 'esdb://a,b?GOSSIP_TIMEOUT=7'],
  ['esdb+discover://u:p%2C@a', 'esdb+discover://u:p%2C@a?gossipTimeout=2'],
  ['kurrentdb://a?tls=false', 'kurrentdb://a?tls=false&gossipTimeout=2'],
  ['kurrentdb+discover://u:p@a,b', 'kurrentdb://u:p@a,b?gossipTimeout=2'],
  ['esdb://a?defaultDeadline=9000&tls=false', 'esdb://a?tls=false&gossipTimeout=2'],
  ['esdb://a?default-deadline=9000', 'esdb://a?gossipTimeout=2'],
  ['no url', 'no url'],
])('%s is given to the driver as %s', (url, given) => {
  expect(driverUrl(url)).toBe(given);
});

test('hosts and options of a URL', () => {
  const url = 'esdb+discover://user:pass@one,two:2114/?tls=false&tls-ca-file=%2Fca.crt';
  expect(hostsOf(url)).toEqual(['one:2113', 'two:2114']);
  expect(optionOf(url, 'tls')).toBe('false');
  expect(optionOf(url, 'tlsCAFile')).toBe('/ca.crt');
  expect(optionOf(url, 'gossipTimeout')).toBeUndefined();
});
