// An Express handler that only echoes the JSON it is sent.
import express from 'express';

const app = express();
app.use(express.json());
app.post('/integration/patients', (req, res) => {
  res.json(req.body);
});
app.listen(Number(process.env.PORT), '127.0.0.1');
