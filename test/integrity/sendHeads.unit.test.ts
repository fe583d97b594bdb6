import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { addTreeLeaf, type TreeHeadRow, treeModel } from '../../projections/tree.ts';
import { addLeaf, emptyTree, type HashTree, leafHash, treeRoot } from '../../src/domain/merkle.ts';
import type { TreeHead } from '../../src/modules/integrity/publicKeys.ts';
import { signatureProblem } from '../../src/modules/integrity/signing.ts';
import {
  headsStatus,
  reportHeadsStatus,
  sendHeads,
  sentHeads,
} from '../../src/modules/integrity/treeHeads.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { openReadModels, openStateStore } from '../../src/server/openStorage.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';

import { temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
const { privateKey } = generateKeyPairSync('ed25519');
let readModels: ReadModels;
let stateStore: StateStore;
let kept: Map<string, TreeHead>;
let isAway: boolean;
let opened = 0;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  const path = join(folder, String(opened++));
  const [models, state] = [
    await openReadModels(`sqlite:${path}-models.db`),
    await openStateStore(`sqlite:${path}-state.db`),
  ];
  [readModels, stateStore] = [models, state];
  closing.push(
    () => models.close(),
    () => state.close(),
  );
  kept = new Map();
  isAway = false;
});
afterAll(async () => {
  for (const close of closing) await close();
});

const target = {
  place: 'memory',
  async write(name: string, text: string) {
    if (isAway) throw unavailable('target of heads', undefined, 'It is away.');
    expect(kept.has(name)).toBe(false);
    kept.set(name, JSON.parse(text));
  },
};
const send = (...workspaces: string[]) =>
  sendHeads({ readModels, stateStore, target }, workspaces, async () => ({ privateKey, rotations: [] }));
const sizes = (workspace: string) =>
  [...kept.values()].filter((head) => head.workspace === workspace).map(({ size }) => size);

/** The tree of a workspace over these leaves, in the read model. */
async function project(workspace: string, texts: string[]): Promise<HashTree> {
  await readModels.begin(treeModel, 'log');
  let head: Row<TreeHeadRow> | undefined;
  for (const [index, text] of texts.entries()) {
    const leaf = [index + 1, `event-${index}`, leafHash(text)] as [number, string, string];
    const rows = [
      addTreeLeaf(head, workspace, leaf, '2026-03-14T09:30:00.000Z'),
    ].flat() as Row<TreeHeadRow>[];
    head = rows[0];
    await readModels.write({ model: treeModel, rows, checkpoint: 0 });
  }
  return texts.reduce((tree, text) => addLeaf(tree, leafHash(text)), emptyTree);
}

const texts = (count: number, name = 'event') => Array.from({ length: count }, (_, n) => `${name} ${n}`);

test('a head is signed and says what the tree is; its name has workspace, size and time', async () => {
  const tree = await project('clinic', texts(70));
  expect(await send('clinic')).toEqual(new Set());
  const [[name, head]] = [...kept] as [[string, TreeHead]];
  expect(head).toMatchObject({
    workspace: 'clinic',
    size: 70,
    root: treeRoot(tree),
    chain: tree.chain,
    last_event_id: 'event-69',
    last_event_recorded_at: '2026-03-14T09:30:00.000Z',
  });
  expect(signatureProblem(head, createPublicKey(privateKey))).toBeUndefined();
  expect(name).toBe(`clinic-000000000070-${head.created_at.replaceAll(/[-:.]/g, '')}.json`);
  expect(await sentHeads(stateStore, ['clinic', 'other'])).toEqual(new Map([['clinic', head]]));
});

test('a head is sent again only when the workspace has grown, and of no workspace without events', async () => {
  await project('clinic', texts(3));
  await send('clinic', 'empty');
  await send('clinic', 'empty');
  expect(sizes('clinic')).toEqual([3]);
  await project('clinic', texts(4));
  await send('clinic', 'empty');
  expect(sizes('clinic')).toEqual([3, 4]);
  expect(sizes('empty')).toEqual([]);
});

test('nothing is sent of a tree that is being built anew', async () => {
  await project('clinic', texts(100));
  await send('clinic');
  await project('clinic', texts(50));
  expect(await send('clinic')).toEqual(new Set());
  expect(sizes('clinic')).toEqual([100]);
});

test('what a place does not take is sent later', async () => {
  await project('clinic', texts(5));
  isAway = true;
  await expect(send('clinic')).rejects.toMatchObject({ code: 'unavailable', problem: 'It is away.' });
  expect(await sentHeads(stateStore, ['clinic'])).toEqual(new Map());
  isAway = false;
  await send('clinic');
  expect(sizes('clinic')).toEqual([5]);
});

test('another history than that of the last head is told of, and its head goes out', async () => {
  await project('clinic', texts(70));
  await send('clinic');
  await project('clinic', texts(80, 'another'));
  expect(await send('clinic')).toEqual(new Set(['clinic']));
  expect(sizes('clinic')).toEqual([70, 80]);
});

test('the status is that of the last try', async () => {
  const status = { place: 'memory', tried_at: '2026-03-14T09:30:00.000Z', problem: null, public_key: null };
  for (const problem of [null, 'It is away.', null]) {
    await reportHeadsStatus(stateStore, { ...status, problem });
    expect(await headsStatus(stateStore)).toEqual({ ...status, problem });
  }
});
