"""What every floor above stands on: parameters, arrays of other libraries, memory, threads."""
