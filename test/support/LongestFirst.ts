import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of more than half a minute, as parts of their paths. */
const longest = [
  'house/docsExamples',
  'dashboard/everyPage',
  'backends/eventStoreDb.engine',
  'backends/eventStoreDbCluster',
  'import/importResumes',
  'import/importKills',
  'import/importPopulation',
  'torture/',
  'mllp/mllpKills',
  'webhooks/webhooksKills',
  'clients/pythonClient',
  'service/firstStart',
  'service/restoredLog',
  'service/upgrade',
  'house/package',
  'events/eventsLive',
  'erasure/erasureKills',
  'service/sameAnswers',
];

const isLong = ({ moduleId }: TestSpecification) => longest.some((part) => moduleId.includes(part));

/** Begins with the files that take longest, so that no worker is left with one when the others are through. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
