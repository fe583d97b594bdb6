import { setIn } from '../../modules/integrations/mapping.ts';
import { bindingTexts } from '../../modules/integrations/mllpBinding.ts';
import { readSources } from '../../modules/integrations/readSources.ts';
import { DEFAULT_RETENTION_DAYS, type Source } from '../../modules/integrations/source.ts';
import { isDefault } from '../../modules/integrations/sourceOf.ts';
import { withWorkspace } from '../../server/withStores.ts';
import { count, printable, writeJson, writeLine, writeTable } from '../lib/output.ts';

/** Lists the sources of a workspace. */
export async function listSources({ workspace, json }: { workspace: string; json?: boolean }): Promise<void> {
  const sources = await withWorkspace(workspace, ({ eventLog }) => readSources(eventLog, workspace));
  if (json) writeJson(sources.map(sourceView));
  else if (sources.length === 0) writeLine(`There are no sources yet in workspace ${workspace}.`);
  else
    writeTable(
      ['SOURCE', 'FORMAT', 'KEY', 'MLLP', 'TIME ZONE', 'IDS, FACILITY, MAPPING'],
      sources.map((source) => [
        source.id,
        source.format,
        source.key ?? (isDefault(source) ? 'any other' : '-'),
        source.mllp
          ? bindingTexts(source.mllp)
              .map((text) => printable(text))
              .join(', ')
          : '-',
        source.time_zone,
        settingsOf(source).join(', ') || '-',
      ]),
    );
}

const nothingConfigured = {
  key: null,
  mllp: null,
  id_systems: {},
  patient_authority: null,
  visit_authority: null,
  facility: null,
  mapping: {},
  retention_days: DEFAULT_RETENTION_DAYS,
};

/** Returns a source's form in JSON. */
export function sourceView({ id, format, time_zone, ...configured }: Source) {
  return { id, format, time_zone, ...nothingConfigured, ...configured };
}

function settingsOf({ id_systems, patient_authority, visit_authority, facility, mapping }: Source): string[] {
  const named = {
    ...id_systems,
    patient: patient_authority,
    visit: visit_authority,
    facility: facility && `${facility.id} (${facility.name})`,
    ...Object.fromEntries(setIn(mapping).map(([option, what]) => [option, mappedTo(what)])),
  };
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${printable(value)}`,
  );
}

/** Returns a place as it is; for codes, how many there are. */
function mappedTo(what: string | Record<string, string>): string {
  return typeof what === 'string' ? what : `${count(Object.keys(what).length)} codes`;
}
