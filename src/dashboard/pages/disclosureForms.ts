import { pathId } from '../../api/schemas/parameters.ts';
import { disclosureMeans } from '../../domain/events/payloads.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { addDisclosure, statePurpose } from '../../modules/audit/disclosureCommands.ts';
import { type Disclosure, type DisclosurePorts, findDisclosure } from '../../modules/audit/disclosures.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { readRecord } from '../../modules/records/queries/records.ts';
import { type FieldMessage, notFound } from '../../platform/errors.ts';
import {
  confirmedChange,
  input,
  messageOf,
  purposeFields,
  select,
  termFields,
  termsSent,
} from '../components/forms.ts';
import { fieldLabel } from '../components/labels.ts';
import { type DashboardRoute, type Html, html, phiReaders, textOf, type Visit } from '../components/page.ts';
import { recordsSection } from '../components/recordTable.ts';
import { bdi } from '../components/text.ts';
import { disclosuresPath } from '../components/urls.ts';
import { describedText, when } from './disclosuresPaper.ts';
import { type ErasedPorts, orErased, readCalled } from './records/shared.ts';

interface FormPorts extends DisclosurePorts, ErasedPorts {}

const path = '/workspaces/:workspace/records/patients/:id/disclosures';

/**
 * `…/records/patients/{id}/disclosures/…`: adds a disclosure that the service did not make, and states the purpose of one for which
 * none was given.
 */
export function disclosureFormRoutes(ports: FormPorts): DashboardRoute[] {
  return [...addRoutes(ports), ...purposeRoutes(ports)].map((route) => orErased(ports, route));
}

const accountingOf = (workspace: string, id: string) => `${disclosuresPath(workspace, id)}?form=accounting`;

function addRoutes(ports: FormPorts): DashboardRoute[] {
  return confirmedChange<string>({
    roles: phiReaders,
    path: `${path}/add`,
    async find({ req, workspace }) {
      const id = pathId(req, 'id', patient.title);
      await readRecord(ports, workspace, patient, id);
      return id;
    },
    async question(id, visit, details) {
      const { called, breadcrumb } = await readCalled(ports, visit, { kind: patient.kind, id });
      return {
        title: 'Add a disclosure',
        ...{ section: recordsSection, breadcrumb },
        text: html`A disclosure of data of patient ${called} by telephone, fax, mail, on paper or by other means. It is listed in the accounting of disclosures, and erased with the patient.`,
        fields: html`${addFields(details)}${termFields(termsSent(visit.form), details)}`,
        button: 'Add disclosure',
        back: accountingOf(visit.workspace, id),
      };
    },
    async make(id, visit) {
      const { caller, form, workspace, notice } = visit;
      const sent = (name: string) => textOf(form, name);
      await addDisclosure(ports, caller, id, {
        ...{ disclosed_at: sent('disclosed_at'), means: sent('means'), description: sent('description') },
        ...termsSent(form),
        recipient: sent('recipient'),
      });
      notice('The disclosure was added.');
      return { redirect: accountingOf(workspace, id) };
    },
  });
}

function addFields(details: readonly FieldMessage[] | undefined): Html {
  return html`${input({
    ...{ name: 'disclosed_at', label: 'Date', type: 'date', isRequired: true },
    error: messageOf(details, 'disclosed_at'),
  })}
${select({
  ...{ name: 'means', label: 'How', value: 'telephone' },
  options: disclosureMeans.map((value) => ({ value, text: fieldLabel(value) })),
  error: messageOf(details, 'means'),
})}
${input({
  ...{ name: 'description', label: 'What was disclosed', isRequired: true, autocomplete: 'off' },
  hint: 'In words for the patient.',
  error: messageOf(details, 'description'),
})}`;
}

function purposeRoutes(ports: FormPorts): DashboardRoute[] {
  return confirmedChange<Disclosure>({
    roles: phiReaders,
    path: `${path}/:event/purpose`,
    async find(visit) {
      const { patientId, eventId } = namedIn(visit);
      const found = await findDisclosure(ports, visit.caller, patientId, eventId);
      if (found === undefined) throw notFound('Disclosure');
      return found;
    },
    async question(disclosure, visit, details) {
      const { patientId, eventId } = namedIn(visit);
      await recordAccess(ports.eventLog, visit.caller, {
        ...{ action: 'record.disclosures', kind: patient.kind, record_id: patientId },
        query: { event_id: eventId },
      });
      const { purpose, purpose_statement } = termsSent(visit.form);
      const { called, breadcrumb } = await readCalled(ports, visit, { kind: patient.kind, id: patientId });
      return {
        title: 'State the purpose',
        ...{ section: recordsSection, breadcrumb },
        text: html`On ${when.cell(disclosure)}, data of patient ${called} went to ${disclosure.recipient === null ? 'a recipient without a name' : bdi(disclosure.recipient)}: ${describedText(disclosure)}. State why; the entry itself stays as it is.`,
        fields: purposeFields({ purpose, purpose_statement }, details),
        button: 'State purpose',
        back: accountingOf(visit.workspace, patientId),
      };
    },
    async make(_disclosure, visit) {
      const { patientId, eventId } = namedIn(visit);
      const { purpose, purpose_statement } = termsSent(visit.form);
      await statePurpose(ports, visit.caller, patientId, eventId, { purpose, purpose_statement });
      visit.notice('The purpose was stated.');
      return { redirect: accountingOf(visit.workspace, patientId) };
    },
  });
}

function namedIn({ req }: Visit) {
  return { patientId: pathId(req, 'id', patient.title), eventId: pathId(req, 'event', 'Disclosure') };
}
