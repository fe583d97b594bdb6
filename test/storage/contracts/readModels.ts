import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import type { ReadModels } from '../../../src/storage/readModels.ts';
import { listsContract } from './readModelsLists.ts';
import { rebuildsContract } from './readModelsRebuilds.ts';
import { rowsContract } from './readModelsRows.ts';
import { searchContract } from './readModelsSearch.ts';
import { checkpointsContract, guardedWritesContract, parkedContract } from './readModelsWrites.ts';

/** What every backend of the read models promises. `open` opens one more instance over the same store. */
export function readModelsContract(open: () => Promise<ReadModels>): void {
  let store: ReadModels;
  /** Another instance, as another process would have. */
  let other: ReadModels;
  let model: string;
  beforeAll(async () => {
    [store, other] = await Promise.all([open(), open()]);
  });
  afterAll(() => Promise.all([store.close(), other.close()]));
  beforeEach(() => {
    model = `model_${randomBytes(4).toString('hex')}_v1`;
  });

  describe('rows', () => rowsContract(() => ({ store, model })));
  describe('lists and changes', () => listsContract(() => ({ store, other, model })));
  describe('search', () => searchContract(() => ({ store, other, model })));
  describe('guarded writes', () => guardedWritesContract(() => ({ store, other, model })));
  describe('checkpoints', () => checkpointsContract(() => ({ store, other, model })));
  describe('parked events', () => parkedContract(() => ({ store, other, model })));
  describe('rebuilds', () => rebuildsContract(() => ({ store, other, model })));
}
