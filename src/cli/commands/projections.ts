import type { Command } from 'commander';
import { projections } from '../../../projections/index.ts';
import { readinessModel } from '../../../projections/projection.ts';
import { documents, records } from '../../../projections/records.ts';
import { requestRebuild } from '../../modules/projections/checkpoints.ts';
import { rebuildProjection } from '../../modules/projections/projector.ts';
import { projectionStatus } from '../../modules/records/queries/records.ts';
import { ServiceError } from '../../platform/errors.ts';
import { withStores } from '../../server/stores.ts';
import { example, writeJson, writeLine, writeTable } from '../lib/terminal.ts';

/** The name of the read model that no projection builds. */
const WORKLIST = 'readiness';
/** What is evaluated right after one of these was replaced misses what the new one does not have yet. */
const basisOfWorklist = [WORKLIST, records.name, documents.name];

function chosen(name: string | undefined) {
  const found = projections.filter((projection) => name === undefined || projection.name === name);
  if (found.length > 0 || name === WORKLIST) return found;
  const names = [...projections.map((projection) => projection.name), WORKLIST].join(', ');
  throw new ServiceError('not_found', `Projection ${name} does not exist. The projections are ${names}.`);
}

/** `chartledger projections …` */
export function addProjectionCommands(commands: Command): void {
  commands
    .command('status')
    .description('Show the progress of each read model, and the events that could not be projected.')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger projections status'))
    .action(({ json }: { json?: boolean }) =>
      withStores(async (eventLog, readModels) => {
        const statuses = await projectionStatus(eventLog, readModels);
        const rows = await Promise.all(
          statuses.map(async (status) => ({ ...status, rows: await readModels.count(status.model) })),
        );
        if (json) writeJson(rows);
        else
          writeTable(
            ['READ MODEL', 'POSITION', 'BEHIND', 'ROWS', 'PARKED'],
            rows.map(({ model, ...row }) => [
              model,
              ...[row.position, row.behind, row.rows, row.parked].map(String),
            ]),
          );
      }),
    );

  commands
    .command('rebuild')
    .description('Rebuild read models from the log next to the current ones, then replace the current ones.')
    .argument('[name]', 'the projection; default: all, one after another')
    .option('--accept-fewer', 'accept the new read model even if it has fewer rows')
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('chartledger projections rebuild records'))
    .action(
      (name: string | undefined, { acceptFewer = false, json }: { acceptFewer?: boolean; json?: boolean }) =>
        withStores(async (eventLog, readModels) => {
          const parked: string[] = [];
          const ports = {
            eventLog,
            readModels,
            onParked: (_: string, { id }: { id: string }) => parked.push(id),
          };
          const rebuilt = [];
          for (const projection of chosen(name)) {
            rebuilt.push(
              await rebuildProjection(projection, ports, new AbortController().signal, acceptFewer),
            );
          }
          const isBegun = name === undefined || basisOfWorklist.includes(name);
          if (isBegun) await requestRebuild(readModels, readinessModel);
          if (json) writeJson([...rebuilt, ...(isBegun ? [{ model: readinessModel, begun: true }] : [])]);
          else
            for (const one of rebuilt)
              writeLine(
                `${one.model}: ${one.rows} rows, ${one.rowsBefore} before; ${one.parked} events parked.`,
              );
          if (isBegun && !json)
            writeLine(`${readinessModel}: outdated; the service that runs evaluates all encounters again.`);
        }),
    );
}
