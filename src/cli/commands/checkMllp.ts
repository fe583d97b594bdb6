import { readTlsFiles } from '../../api/mllp/tlsFiles.ts';
import { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { readSources } from '../../modules/integrations/readSources.ts';
import type { Source } from '../../modules/integrations/source.ts';
import type { Config } from '../../platform/config.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type CheckResult, ok, warn } from './checkResult.ts';

/**
 * If the process has the role `mllp`: checks whether its certificate is usable, and whether its settings cover the sources that
 * are bound to connections.
 */
export async function checkMllp(eventLog: EventLog, { roles, mllp }: Config): Promise<CheckResult[]> {
  if (!roles.includes('mllp')) return [];
  if (mllp.tls) await readTlsFiles(mllp.tls);
  const directory = await KeyDirectory.open(eventLog);
  try {
    const found: CheckResult[] = [];
    for (const workspace of directory.known.workspaces.keys()) {
      for (const source of await readSources(eventLog, workspace)) {
        const problem = unreached(source, mllp);
        const named = `Source ${source.id} of the workspace ${workspace}`;
        if (problem) found.push(warn('mllp', 'source_not_reached', `${named} ${problem}`));
      }
    }
    return found.length > 0 ? found : [ok('mllp', 'its settings cover every bound source')];
  } finally {
    directory.close();
  }
}

/** Returns why a source cannot send anything with these settings. */
function unreached({ mllp: binding }: Source, { ports, tls }: Config['mllp']): string | undefined {
  if (binding?.port !== undefined && !ports.includes(binding.port)) {
    return `is bound to port ${binding.port}, which MLLP_PORT does not name.`;
  }
  if (binding?.certificates !== undefined && tls?.ca === undefined) {
    return 'is bound to client certificates, which are requested only if MLLP_TLS_CA is set.';
  }
  return undefined;
}
