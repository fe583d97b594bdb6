import { expect, test } from 'vitest';
import { canonicalNetwork, isInNetworks } from '../../src/platform/networks.ts';

test.each([
  ['192.0.2.0/24', '192.0.2.0/24'],
  [' 192.0.2.77/24 ', '192.0.2.0/24'],
  ['192.0.2.77', '192.0.2.77/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0:0::7/32', '2001:db8::/32'],
  ['2001:db8::7', '2001:db8::7/128'],
  ['::ffff:192.0.2.77/120', '192.0.2.0/24'],
])('%s is kept as %s', (text, kept) => expect(canonicalNetwork(text)).toBe(kept));

test.each([
  ...['', 'clinic', '192.0.2.0/33', '2001:db8::/129', '10.1/16', '10', '0x7f.1/8', '192.0.2.0/', '/24'],
  ...['192.0.2.0/-1', '192.0.2.0/24/24', 'fe80::1%eth0/64', '192.0.2.0/2.4', '192.0.2.256'],
])('"%s" is no network', (text) => expect(canonicalNetwork(text)).toBeUndefined());

test.each([
  ['192.0.2.0', true],
  ['192.0.2.255', true],
  ['192.0.3.0', false],
  ['::ffff:192.0.2.1', true],
  ['2001:db8:7::1', true],
  ['2001:db9::1', false],
  ['fe80::1%eth0', true],
  ['', false],
  ['unknown', false],
])('%s is in the networks: %s', (address, isIn) => {
  expect(isInNetworks(['192.0.2.0/24', '2001:db8::/32', 'fe80::/10'], address)).toBe(isIn);
});

test('a network of all addresses of one family holds none of the other', () => {
  expect(isInNetworks(['0.0.0.0/0'], '2001:db8::1')).toBe(false);
  expect(isInNetworks(['::/0'], '2001:db8::1')).toBe(true);
});
