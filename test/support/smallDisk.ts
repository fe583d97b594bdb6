import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own size in memory. Needs `canMount`. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'chartledger-disk-'));

  /** `size` as `mount` takes it: `64k`. */
  constructor(size: string) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', this.path], { stdio: 'ignore' });
  }

  resize(size: string): void {
    execFileSync('mount', ['-o', `remount,size=${size}`, this.path]);
  }

  /** Nobody may write any longer, or may again. Fails where a file is open to be written. */
  setReadOnly(isReadOnly: boolean): void {
    execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path]);
  }

  /** Something else takes all the room there is; the result gives it back. */
  fill(): () => void {
    const dump = join(this.path, 'dump');
    const file = openSync(dump, 'a');
    const chunk = Buffer.alloc(4_096);
    try {
      for (;;) writeSync(file, chunk);
    } catch {
      closeSync(file);
    }
    return () => rmSync(dump);
  }

  remove(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true });
  }
}

/** Whether this process may mount file systems: root on Linux. */
export function canMount(): boolean {
  try {
    new SmallDisk('64k').remove();
    return true;
  } catch {
    process.stdout.write('Skipped: file systems cannot be mounted here.\n');
    return false;
  }
}
