import { pathId } from '../../../api/schemas/parameters.ts';
import { patient } from '../../../domain/records/kinds/patient.ts';
import type { EvidencePorts } from '../../../modules/integrity/jobs.ts';
import type { ContentsPorts } from '../../../modules/patientCopy/contents.ts';
import { copyPatient } from '../../../modules/patientCopy/copy.ts';
import { readRecord } from '../../../modules/records/queries/records.ts';
import { notFound } from '../../../platform/errors.ts';
import type { DocumentStore } from '../../../storage/documentStore.ts';
import { input } from '../../components/forms.ts';
import {
  type DashboardRoute,
  html,
  phiReaders,
  type Reply,
  textOf,
  type Visit,
} from '../../components/page.ts';
import { kindOf, recordsSection } from '../../components/recordTable.ts';
import { definitionList } from '../../components/tables.ts';
import { code } from '../../components/text.ts';
import { copyPath, recordPath } from '../../components/urls.ts';
import { copiedPatientPage } from './copiedPatient.ts';
import { type ErasedPorts, orErased, readCalled } from './shared.ts';

interface CopyPagePorts extends ErasedPorts, Pick<ContentsPorts, 'directory'> {
  documentStore: DocumentStore;
  evidence: Pick<EvidencePorts, 'signingKey'>;
}

/** `…/records/patients/{id}/copy`: all that is stored of a patient, as a ZIP for the patient. */
export function recordCopyRoutes(ports: CopyPagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/records/:kind/:id/copy';
  const routes: DashboardRoute[] = [
    { method: 'get', path, roles: phiReaders, handle: (visit) => copyForm(ports, visit) },
    { method: 'post', path, roles: phiReaders, isSensitive: true, handle: (visit) => download(ports, visit) },
  ];
  return routes.map((route) => orErased(ports, route));
}

function patientIdOf({ req }: Visit): string {
  if (kindOf(req.params.kind).kind !== patient.kind) throw notFound('Copy');
  return pathId(req, 'id', patient.title);
}

async function copyForm(ports: CopyPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, csrf } = visit;
  const id = patientIdOf(visit);
  await readRecord(ports, workspace, patient, id);
  const { called, breadcrumb } = await readCalled(ports, visit, { kind: patient.kind, id });
  const signs = (await ports.evidence.signingKey()) !== undefined;
  const body = html`${breadcrumb}
<h1>Copy for the patient</h1>
<p>A ZIP with everything that is stored of ${called}: the record, patients merged into it, encounters and documents. Individuals have a right to it under 45 CFR 164.524.</p>
${definitionList([
  ['To read and print', code('patient.html')],
  ['Documents as received', code('documents/')],
  ['For programs', code('patient.json')],
  ['For apps and other providers', html`${code('fhir-bundle.json')} (FHIR R4)`],
  [
    'Proof of origin',
    signs ? html`${code('manifest.json')}, signed` : 'none: this process does not have the signing key',
  ],
])}
<form method="post" action="/dashboard${copyPath(workspace, id)}">${csrf}
${input({
  name: 'recipient',
  label: 'Recipient',
  hint: 'Only if somebody else receives it on the patient’s behalf. The audit trail records the copy as a disclosure.',
  autocomplete: 'off',
})}
<div class="actions"><button type="submit">Download copy</button>
<a role="button" class="outline secondary" href="/dashboard${recordPath(workspace, patient.kind, id)}">Cancel</a></div></form>`;
  return { page: { title: 'Copy for the patient', section: recordsSection, body } };
}

async function download(ports: CopyPagePorts, visit: Visit): Promise<Reply> {
  const { caller, form } = visit;
  const { zip } = await copyPatient(
    { ...ports, signingKey: () => ports.evidence.signingKey(), pageOf: copiedPatientPage },
    caller,
    { patientId: patientIdOf(visit), recipient: textOf(form, 'recipient') || undefined },
  );
  const today = new Date().toISOString().slice(0, 10);
  return { download: { type: 'application/zip', name: `patient-copy-${today}.zip`, body: zip } };
}
