/** Names of the fields of the segments that are read, from the first on (HL7 v2.5.1, chapters 2, 3, 6, 9, 10). */
const names: Readonly<Record<string, string>> = {
  MSH:
    'Field separator|Encoding characters|Sending application|Sending facility|Receiving application|Receiving facility|' +
    'Time of message|Security|Message type|Message control ID|Processing ID|Version ID|Sequence number|Continuation pointer|' +
    'Accept acknowledgment type|Application acknowledgment type|Country code|Character set|Principal language',
  EVN: 'Event type code|Recorded at|Planned for|Event reason code|Operator|Occurred at|Event facility',
  PID:
    'Set ID|Patient ID|Patient identifiers|Alternate patient ID|Patient name|Mother’s maiden name|Date of birth|Sex|' +
    'Patient alias|Race|Address|County code|Home phone|Business phone|Primary language|Marital status|Religion|' +
    'Account number|SSN|Driver’s license|Mother’s identifier|Ethnic group|Birth place|Multiple birth|Birth order|' +
    'Citizenship|Veteran status|Nationality|Time of death|Death indicator',
  PV1:
    'Set ID|Patient class|Location|Admission type|Preadmit number|Prior location|Attending doctor|Referring doctor|' +
    'Consulting doctor|Hospital service|Temporary location|Preadmit test|Readmission|Admit source|Ambulatory status|VIP|' +
    'Admitting doctor|Patient type|Visit number|Financial class|Charge price|Courtesy code|Credit rating|Contract code|' +
    'Contract from|Contract amount|Contract period|Interest code|Bad debt code|Bad debt date|Bad debt agency|' +
    'Bad debt transfer amount|Bad debt recovery amount|Delete account|Delete account date|Discharge disposition|' +
    'Discharged to|Diet type|Servicing facility|Bed status|Account status|Pending location|Prior temporary location|' +
    'Admitted at|Discharged at|Current balance|Total charges|Total adjustments|Total payments|Alternate visit ID',
  MRG:
    'Prior patient identifiers|Prior alternate patient ID|Prior account number|Prior patient ID|Prior visit number|' +
    'Prior alternate visit ID|Prior patient name',
  IN1:
    'Set ID|Insurance plan ID|Insurance company ID|Insurance company name|Insurance company address|' +
    'Insurance company contact|Insurance company phone|Group number|Group name|Insured’s group employer ID|' +
    'Insured’s group employer name|Plan effective|Plan expires|Authorization|Plan type|Name of insured|' +
    'Insured’s relationship to patient|Insured’s date of birth|Insured’s address|Assignment of benefits|' +
    'Coordination of benefits|Priority|Notice of admission|Notice of admission date|Report of eligibility|' +
    'Report of eligibility date|Release information|Pre-admit certification|Verified at|Verified by|Agreement type|' +
    'Billing status|Lifetime reserve days|Delay before lifetime reserve|Company plan code|Policy number|Policy deductible|' +
    'Policy limit|Policy limit days|Room rate, semi-private|Room rate, private|Insured’s employment status|Insured’s sex|' +
    'Insured’s employer address|Verification status|Prior insurance plan ID|Coverage type|Handicap|Insured’s ID',
  SCH:
    'Placer appointment ID|Filler appointment ID|Occurrence number|Placer group number|Schedule ID|Event reason|' +
    'Appointment reason|Appointment type|Duration|Duration units|Timing|Placer contact|Placer phone|Placer address|' +
    'Placer location|Filler contact|Filler phone|Filler address|Filler location|Entered by|Entered by phone|' +
    'Entered by location|Parent placer appointment ID|Parent filler appointment ID|Filler status',
  FT1:
    'Set ID|Transaction ID|Transaction batch ID|Transaction date|Posting date|Transaction type|Transaction code|' +
    'Transaction description|Alternate description|Quantity|Amount, extended|Amount, unit|Department|Insurance plan ID|' +
    'Insurance amount|Location|Fee schedule|Patient type|Diagnosis code|Performed by|Ordered by|Unit cost|' +
    'Filler order number|Entered by|Procedure code',
  TXA:
    'Set ID|Document type|Content presentation|Activity time|Activity provider|Origination time|Transcription time|' +
    'Edit time|Originator|Authenticator|Transcriptionist|Document ID|Parent document ID|Placer order number|' +
    'Filler order number|File name|Completion status|Confidentiality|Availability|Storage status|Change reason',
  OBX:
    'Set ID|Value type|Observation identifier|Observation sub-ID|Observation value|Units|Reference range|Abnormal flags|' +
    'Probability|Nature of abnormal test|Result status',
};

/** Fields by their place, such as `PID-3`. */
export const fieldNames: ReadonlyMap<string, string> = new Map(
  Object.entries(names).flatMap(([segment, fields]) =>
    fields.split('|').map((name, index): [string, string] => [`${segment}-${index + 1}`, name]),
  ),
);
