import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from '@jest/globals';
import { openEventLog } from '../../src/backends/openBackend.ts';
import { eventLogContract } from '../contracts/eventLog.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-log-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('SQLite event log', () =>
  eventLogContract(() => openEventLog(`sqlite:${join(folder, 'events.db')}`)));
