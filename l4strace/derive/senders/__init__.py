"""What is known of senders: alpha, reductions and their law, the detector, their logs."""
