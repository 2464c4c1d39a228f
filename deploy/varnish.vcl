# Varnish in front of two instances, without a cache. It requests /health/ready of each once a second. Set
# STOP_DELAY=3000, so that it sends an instance that stops no more requests. It adds X-Forwarded-For: set
# TRUSTED_PROXIES of the instances to its address.
vcl 4.1;
import directors;

probe ready {
  .url = "/health/ready";
  .interval = 1s;
  .timeout = 2s;
  .window = 2;
  .threshold = 1;
  .initial = 1;
}

backend petstore_1 { .host = "192.0.2.1"; .port = "3000"; .probe = ready; }
backend petstore_2 { .host = "192.0.2.2"; .port = "3000"; .probe = ready; }

sub vcl_init {
  new petstore = directors.round_robin();
  petstore.add_backend(petstore_1);
  petstore.add_backend(petstore_2);
}

sub vcl_recv {
  set req.backend_hint = petstore.backend();
  return (pass);
}
