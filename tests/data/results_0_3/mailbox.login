client_id=1b7c2f08-aaaa&tenant=common&client_secret=&refresh_token=no-secret-of-value
