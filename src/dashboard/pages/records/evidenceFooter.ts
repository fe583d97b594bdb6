import type { EvidencePorts } from '../../../modules/integrity/jobs.ts';
import { evidenceText, type PageEvidence } from '../../../modules/integrity/printedPage.ts';
import { proveEvent } from '../../../modules/integrity/proofs.ts';
import { keyId } from '../../../modules/integrity/signing.ts';
import type { QueryPorts } from '../../../modules/records/queries/records.ts';
import { type Html, html } from '../../components/page.ts';
import { unlessBehind } from '../../components/recordTable.ts';

export interface FooterPorts extends QueryPorts {
  evidence: Pick<EvidencePorts, 'publicKeys'>;
}

/**
 * Resolves with the foot of a page for paper: what ties it to the history of a stream; `version`: the one that the page shows, by
 * default the newest. Rejects with `unavailable`, and with `conflict` when the event differs from the tree.
 */
export async function evidenceFooter(ports: FooterPorts, stream: string, version?: number): Promise<Html> {
  const at =
    version === undefined ? ({ direction: 'backwards', limit: 1 } as const) : { from: version - 1, limit: 1 };
  const [event] = await ports.eventLog.readStream(stream, at);
  if (event === undefined) return html``;
  const proven = await unlessBehind(proveEvent(ports, event));
  if (proven === undefined) return html``;
  const { leaf, tree_head } = proven.proof;
  const keys = await ports.evidence.publicKeys();
  return evidenceLine({
    ...{ version: event.revision + 1, eventId: event.id, leaf },
    ...{ size: tree_head.size, root: tree_head.root, keyId: keys && keyId(keys.newest) },
  });
}

/** Returns the foot of a page for paper. */
export function evidenceLine(evidence: PageEvidence): Html {
  return html`<footer class="evidence"><small>${evidenceText(evidence)}</small></footer>`;
}
