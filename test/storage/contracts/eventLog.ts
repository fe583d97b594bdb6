import { describe } from 'vitest';
import type { EventLog } from '../../../src/storage/eventLog.ts';
import { eventLogAppends } from './eventLogAppends.ts';
import { eventLogErasure, type Purged } from './eventLogErasure.ts';
import { eventLogFollowing } from './eventLogFollowing.ts';
import { eventLogGroups } from './eventLogGroups.ts';
import { eventLogPlaces } from './eventLogPlaces.ts';
import { eventLogReads } from './eventLogReads.ts';
import { eventLogWriters } from './eventLogWriters.ts';

/**
 * What every event log promises (`src/storage/eventLog.ts`). `open` opens the same log each time. The log may hold
 * other applications' streams and may be written to by others meanwhile: the suite works in workspaces of its own.
 */
export function eventLogContract(open: () => Promise<EventLog>, purged: Purged): void {
  describe('append', () => eventLogAppends(open));
  describe('append, many together', () => eventLogGroups(open));
  describe('append, by several', () => eventLogWriters(open));
  describe('reading', () => eventLogReads(open));
  describe('identity and positions', () => eventLogPlaces(open));
  describe('follow', () => eventLogFollowing(open));
  describe('erase', () => eventLogErasure(open, purged));
}
