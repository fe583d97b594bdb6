import { describe, expect, test } from 'vitest';
import { checkUrl, createEgressPolicy, MAX_URL_LENGTH } from '../../src/modules/webhooks/settings.ts';

const closed = createEgressPolicy([]);
const open = createEgressPolicy(['127.0.0.0/8', '10.20.0.0/16', 'fd00:20::/32']);

const notPublic = {
  'this network (RFC 791)': ['0.0.0.0', '0.1.2.3'],
  'loopback (RFC 1122)': ['127.0.0.1', '127.255.255.254', '::1'],
  'private (RFC 1918)': ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'shared behind a carrier (RFC 6598)': ['100.64.0.1', '100.127.255.255'],
  'link-local (RFC 3927)': ['169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'metadata of clouds': [
    '169.254.169.254',
    '169.254.170.2',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    'fd00:ec2::254',
    'fd20:ce::254',
  ],
  'for protocols and documents (RFC 6890)': ['192.0.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1'],
  'for measurements (RFC 2544)': ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'multicast, reserved and broadcast': ['224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', 'ff02::1'],
  unspecified: ['::'],
  'unique local (RFC 4193)': ['fc00::1', 'fdff::1'],
  'site-local, long abolished (RFC 3879)': ['fec0::1'],
  'IPv4 inside IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:169.254.169.254',
    '::ffff:0:127.0.0.1',
    '::127.0.0.1',
    '::a9fe:a9fe',
  ],
  'NAT64 (RFC 6052, RFC 8215)': ['64:ff9b::127.0.0.1', '64:ff9b::808:808', '64:ff9b:1::a00:1'],
  '6to4 and Teredo (RFC 3056, RFC 4380)': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2001:0:7f00:1::'],
  'other special blocks of IPv6': ['100::1', '2001:db8::1', '3fff::1', '5f00::1', '2001:10::1', '4000::1'],
};

describe('the rules of addresses', () => {
  test.each(Object.entries(notPublic))('keep messages from addresses that are %s', (_what, addresses) => {
    for (const protocol of ['https:', 'http:']) {
      expect(addresses.filter((address) => closed.allows(address, protocol))).toEqual([]);
    }
  });

  test.each(['8.8.8.8', '172.15.0.1', '172.32.0.1', '100.63.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'let messages go to %s, over https alone',
    (address) => {
      for (const rules of [closed, open]) {
        expect(rules.allows(address, 'https:')).toBe(true);
        expect(rules.allows(address, 'http:')).toBe(false);
      }
    },
  );

  test.each(['127.0.0.1', '::ffff:127.0.0.1', '127.9.9.9', '10.20.30.40', 'fd00:20::1'])(
    'let messages go to %s over either protocol when its network was opened',
    (address) => {
      expect(open.allows(address, 'https:')).toBe(true);
      expect(open.allows(address, 'http:')).toBe(true);
    },
  );

  test('open no more than what was named', () => {
    const others = ['10.21.0.1', '169.254.169.254', '::1', 'fd00:21::1', '0.0.0.0'];
    expect(others.filter((address) => open.allows(address, 'https:'))).toEqual([]);
  });

  test.each(['', 'localhost', '127.1', '0x7f000001', '2130706433', '0177.0.0.1', '8.8.8', '8.8.8.8/32'])(
    'take %p for no address, whatever it would mean elsewhere',
    (text) => {
      expect(open.allows(text, 'https:')).toBe(false);
    },
  );

  test('are not made of networks that are none', () => {
    expect(() => createEgressPolicy(['10.0.0.0'])).toThrow();
    expect(() => createEgressPolicy(['10.0.0.0/33'])).toThrow();
  });
});

const PRIVATE = 'must not name a private, local or reserved address';
const HTTPS = 'must begin with https://';

describe('the URL of a webhook', () => {
  test.each([
    'https://example.com',
    'https://example.com/hooks?token=a%20b',
    'https://example.com:8443/',
    'HTTPS://EXAMPLE.COM/Hooks',
    'https://münchen.example/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://localhost.example.com/',
    'https://notlocalhost/',
  ])('may be %s', (url) => {
    expect(checkUrl(url, closed)).toBeUndefined();
  });

  test.each([
    ['', 'must be a complete URL, for example https://example.com/webhooks'],
    ['example.com/hooks', 'must be a complete URL, for example https://example.com/webhooks'],
    ['https://', 'must be a complete URL, for example https://example.com/webhooks'],
    ['https://300.1.1.1/', 'must be a complete URL, for example https://example.com/webhooks'],
    ['https://[fe80::1%25eth0]/', 'must be a complete URL, for example https://example.com/webhooks'],
    ['http://example.com/', HTTPS],
    ['ftp://example.com/', HTTPS],
    ['file:///etc/passwd', HTTPS],
    ['data:text/plain,hello', HTTPS],
    ['https://user@example.com/', 'must not contain a user name or password'],
    ['https://:secret@example.com/', 'must not contain a user name or password'],
    ['https://example.com/#top', 'must not contain a fragment (#)'],
    [' https://example.com/', 'must not contain spaces or control characters'],
    ['https://exa\nmple.com/', 'must not contain spaces or control characters'],
    ['https://example.com/\u0000', 'must not contain spaces or control characters'],
    [`https://example.com/${'a'.repeat(MAX_URL_LENGTH)}`, 'must have at most 2048 characters'],
  ])('may not be %p', (url, complaint) => {
    expect(checkUrl(url, closed)).toBe(complaint);
  });

  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '127。0。0。1',
    '①②⑦.0.0.1',
    '%31%32%37.0.0.1',
    '0',
    '0.0.0.0',
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '10.0.0.1',
    '192.168.257',
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[::127.0.0.1]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'hooks.localhost',
    'ｌocalhost',
  ])('may not name %s', (host) => {
    expect(checkUrl(`https://${host}/`, closed)).toBe(PRIVATE);
    expect(checkUrl(`https://${host}:8443/hooks`, closed)).toBe(PRIVATE);
  });

  test.each(['http://127.0.0.1:4000/', 'http://localhost:4000/', 'https://10.20.0.1/', 'http://receiver/'])(
    'may be %s when networks were opened',
    (url) => {
      expect(checkUrl(url, open)).toBeUndefined();
    },
  );

  test('of an address outside of the networks that were opened begins with https', () => {
    expect(checkUrl('http://8.8.8.8/', open)).toBe(HTTPS);
    expect(checkUrl('http://10.0.0.1/', open)).toBe(PRIVATE);
    expect(checkUrl('https://169.254.169.254/', open)).toBe(PRIVATE);
  });
});
