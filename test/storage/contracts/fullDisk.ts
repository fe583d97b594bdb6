import { expect, test } from 'vitest';
import { canMount, SmallDisk } from '../../support/files.ts';

/** What holds of every store on a disk of this machine; `open` opens one in a folder. */
export function fullDiskContract(
  open: (folder: string) => Promise<{ check(): Promise<void>; close(): Promise<void> }>,
): void {
  test.skipIf(!canMount())(
    'a full disk is told by the check, until there is room on it',
    async ({ onTestFinished }) => {
      const disk = new SmallDisk('256k');
      onTestFinished(() => disk.remove());
      const store = await open(disk.path);
      await store.check();
      const releasePlace = disk.fill();
      const full = { code: 'unavailable', problem: expect.stringContaining('disk or quota is full') };
      await expect(store.check()).rejects.toMatchObject(full);
      releasePlace();
      await store.check();
      await store.close();
    },
  );
}
