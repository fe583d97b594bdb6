import { test } from 'vitest';
import { expectHolds } from '../support/processes.ts';
import { withOwnServers } from '../support/servers.ts';

withOwnServers('torture by servers', () => {
  test('nothing fails in the short form of servers', () => expectHolds('servers'), 300_000);
});
