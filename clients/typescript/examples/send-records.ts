import { Chartledger, ChartledgerError } from 'chartledger-client';

const { CHARTLEDGER_URL: url = 'http://127.0.0.1:3000', CHARTLEDGER_API_KEY: apiKey = '' } = process.env;
const chartledger = new Chartledger({ url, apiKey });
try {
  await chartledger.payers.upsert({ id: 'payer-aetna', name: 'Aetna' });
  const { version, warnings } = await chartledger.patients.upsert({
    id: 'patient-1001',
    first_name: 'Maria',
    last_name: 'Lopez',
    date_of_birth: '1984-02-29',
    primary_insurance: { payer_id: 'payer-aetna', policy_number: 'W123456789' },
  });
  process.stdout.write(`version ${version}, ${warnings.length} warnings\n`);
} catch (error) {
  if (error instanceof ChartledgerError) process.stderr.write(`${error.code}: ${error.message}\n`);
  throw error;
}
