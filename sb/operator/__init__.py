"""An operator's tools beside the queue: what needs a person, the doctor, the demo, reproduction of a run."""
