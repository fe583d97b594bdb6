import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { BackupTarget } from '../../../src/storage/targets.ts';

export interface BackupTargetUnderTest {
  open(): BackupTarget;
  /** One that can be neither read nor written. */
  openAway(): BackupTarget;
}

async function* chunks(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function names(target: BackupTarget, folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const name of target.names()) if (name.startsWith(`${folder}/`)) found.push(name);
  return found.toSorted();
}

const textOf = async (target: BackupTarget, name: string) =>
  (await buffer(await target.read(name))).toString();

/** What every place of backups promises. */
export function backupTargetContract({ open, openAway }: BackupTargetUnderTest): void {
  test('keeps files whole, under names with folders, and replaces them', async () => {
    const folder = randomUUID();
    const large = 'x'.repeat(3_000_000);
    await open().write(`${folder}/a/1.txt`, chunks('one', ' and ', 'two'));
    await open().write(`${folder}/a/1.txt`, chunks('three'));
    await open().write(`${folder}/2.txt`, chunks(large, large));
    await open().write(`${folder}/empty`, chunks());
    expect(await textOf(open(), `${folder}/a/1.txt`)).toBe('three');
    expect((await textOf(open(), `${folder}/2.txt`)) === large + large).toBe(true);
    expect(await textOf(open(), `${folder}/empty`)).toBe('');
    expect(await names(open(), folder)).toEqual([`${folder}/2.txt`, `${folder}/a/1.txt`, `${folder}/empty`]);
  });

  test('a file that is not there is not found, and may be deleted', async () => {
    const name = `${randomUUID()}/a`;
    await expect(open().read(name)).rejects.toMatchObject({ code: 'not_found' });
    await open().write(name, chunks('a'));
    await open().delete(name);
    await open().delete(name);
    await expect(open().read(name)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a source that fails leaves what was there', async () => {
    const name = `${randomUUID()}/a`;
    const failing = async function* () {
      yield Buffer.from('half');
      throw new Error('the source failed');
    };
    await open().write(name, chunks('whole'));
    await expect(open().write(name, failing())).rejects.toThrow('the source failed');
    expect(await textOf(open(), name)).toBe('whole');
  });

  test('says in words for operators why it cannot be used', async () => {
    const away = expect.objectContaining({
      code: 'unavailable',
      problem: expect.stringMatching(/^\S.*\.$/),
    });
    await expect(openAway().write('a', chunks('a'))).rejects.toEqual(away);
    await expect(openAway().read('a')).rejects.toEqual(away);
    await expect(names(openAway(), 'a')).rejects.toEqual(away);
  });
}
