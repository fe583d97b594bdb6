import { closeSync, cpSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { choices } from '../../../test/support/choices.ts';
import { spawnCli } from '../../../test/support/cli.ts';

import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Torture } from '../scenario.ts';
import { bodyOf, send } from '../support/send.ts';
import { TorturedService } from '../support/TorturedService.ts';

const RECORDS = 300;
const PAGE_BYTES = 4_096;
const DAMAGED_BYTES = 64;

/**
 * Bytes of a page of the log, or of the read models, are overwritten: no response may be wrong, and anyone who checks
 * must be told.
 */
export async function damagedPages(torture: Torture): Promise<Outcome> {
  const { short, seed, folder } = torture;
  const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0' }, ['write', 'read']);
  const { key, workspace } = stores.key;
  const names = new Map<string, string>();
  await fill(stores.env, key, names);
  const choose = choices(seed);
  const failures: string[] = [];
  const counts = { pages: 0, refusedStarts: 0, right: 0, refused: 0, namedByVerify: 0 };
  for (const file of ['events.db', 'read-models.db']) {
    for (let n = 0; n < (short ? 3 : 25); n += 1) {
      const copy = join(folder, 'damaged');
      cpSync(stores.folder, copy, { recursive: true });
      damage(join(copy, file), choose);
      counts.pages += 1;
      const env = { ...stores.env, DATA_DIR: copy };
      const service = new TorturedService(env);
      const url = await service.start().catch(() => undefined);
      if (url === undefined) counts.refusedStarts += 1;
      else {
        for (const [id, name] of names) {
          const answer = await send(url, false, {
            path: `/integration/payers/${id}`,
            headers: { 'x-api-key': key },
          });
          if (answer.status >= 500) counts.refused += 1;
          else if (answer.status === 200 && bodyOf(answer).record.name === name) counts.right += 1;
          else failures.push(`${file}, page damaged (${n}): a payer was answered with ${answer.status}`);
        }
        const list = await send(url, false, {
          path: '/integration/payers?limit=1000',
          headers: { 'x-api-key': key },
        });
        if (list.status === 200 && bodyOf(list).items.length + bodyOf(list).unreadable.length !== RECORDS)
          failures.push(
            `${file}, page damaged (${n}): the list has ${bodyOf(list).items.length} of ${RECORDS}`,
          );
        await service.end();
      }
      const { code } = await spawnCli(['verify', '--workspace', workspace], { env });
      if (code !== 0) counts.namedByVerify += 1;
      rmSync(copy, { recursive: true });
    }
  }
  const figures: Outcome['figures'] = [
    ['damaged: pages', counts.pages],
    ['starts that were refused', counts.refusedStarts],
    ['right answers', counts.right],
    ['answers 5xx', counts.refused],
    ['pages that verify named', counts.namedByVerify],
  ];
  return { figures, failures };
}

async function fill(env: Record<string, string>, key: string, names: Map<string, string>): Promise<void> {
  const service = new TorturedService(env);
  const url = await service.start();
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  for (let n = 0; n < RECORDS; n += 1) {
    const record = { id: `payer-${n}`, name: `Payer ${n} ${'x'.repeat(200)}` };
    names.set(record.id, record.name);
    await send(url, false, {
      method: 'POST',
      path: '/integration/payers',
      headers,
      body: JSON.stringify(record),
    });
  }
  await send(url, false, { path: '/integration/payers', headers });
  await service.end();
}

/** Overwrites some bytes of a page, but not of the first one, without which it is not a database. */
function damage(file: string, choose: (below: number) => number): void {
  const pages = Math.floor(statSync(file).size / PAGE_BYTES);
  const at = (1 + choose(pages - 1)) * PAGE_BYTES + choose(PAGE_BYTES - DAMAGED_BYTES);
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.alloc(DAMAGED_BYTES, 0xa5), 0, DAMAGED_BYTES, at);
  closeSync(opened);
}
